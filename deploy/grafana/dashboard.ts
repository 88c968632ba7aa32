import { LegendDisplayMode, VizLegendOptionsBuilder } from '@grafana/grafana-foundation-sdk/common';
import {
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  VariableRefresh,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as NumberBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as GraphBuilder } from '@grafana/grafana-foundation-sdk/timeseries';
import type { Panel } from './panel.ts';
import { rows } from './rows.ts';

/** A variable that the reader sets, since each Grafana names its Prometheus differently. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana's own variable.
const datasource = { type: 'prometheus', uid: '${datasource}' };
const size = { number: { width: 4, height: 4 }, graph: { width: 8, height: 8 } };

/** The dashboard of an installation, in Grafana's own form. */
export function buildDashboard(): Dashboard {
  const dashboard = new DashboardBuilder('Sluice')
    .uid('sluice')
    .tags(['sluice'])
    .readonly()
    .refresh('10s')
    .time({ from: 'now-30m', to: 'now' })
    .timezone('browser')
    .tooltip(DashboardCursorSync.Crosshair)
    .withVariable(
      new DatasourceVariableBuilder('datasource')
        .label('Data source')
        .type('prometheus')
        .current({ selected: true, text: 'default', value: 'default' }),
    )
    .withVariable(
      new QueryVariableBuilder('pool')
        .label('Pool')
        .datasource(datasource)
        .query('label_values(sluice_pool_slots, pool)')
        .refresh(VariableRefresh.OnTimeRangeChanged)
        .multi(true)
        .includeAll(true)
        .allValue('.*')
        .current({ selected: true, text: 'All', value: '$__all' }),
    );
  for (const row of rows) {
    dashboard.withRow(new RowBuilder(row.title));
    for (const panel of row.panels) dashboard.withPanel(buildPanel(panel));
  }
  return dashboard.build();
}

/** The text of the file that Grafana reads. */
export function formatDashboard(): string {
  return `${JSON.stringify(buildDashboard(), undefined, 2)}\n`;
}

function buildPanel(panel: Panel): NumberBuilder | GraphBuilder {
  const isNumber = panel.kind === 'number';
  const { width, height } = isNumber ? size.number : size.graph;
  const builder = isNumber ? new NumberBuilder() : createGraph();
  // Grafana's default thresholds are green below 80 and red above: 100 requests/s would be red, and a share never.
  if (isNumber) builder.thresholds(thresholdsOf(panel.alarm));
  builder
    .title(panel.title)
    .description(panel.description)
    .datasource(datasource)
    .unit(panel.unit)
    .min(0)
    .span(width)
    .height(height);
  for (const [index, { expression, legend }] of panel.queries.entries()) {
    // A, B, C…: Grafana tells the queries of a panel apart by this.
    const refId = String.fromCharCode('A'.charCodeAt(0) + index);
    builder.withTarget(new DataqueryBuilder().refId(refId).expr(expression).legendFormat(legend));
  }
  return builder;
}

function thresholdsOf(alarm: Panel['alarm']): ThresholdsConfigBuilder {
  const steps = new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute);
  if (!alarm) return steps.steps([{ value: null, color: 'text' }]);
  const [low, high, at] =
    'from' in alarm ? (['green', 'red', alarm.from] as const) : (['red', 'green', alarm.below] as const);
  return steps.steps([
    { value: null, color: low },
    { value: at, color: high },
  ]);
}

function createGraph(): GraphBuilder {
  const legend = new VizLegendOptionsBuilder().showLegend(true).displayMode(LegendDisplayMode.List);
  return new GraphBuilder().legend(legend).lineWidth(1).fillOpacity(8);
}
