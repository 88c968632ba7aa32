import { writeFile } from 'node:fs/promises';
import { formatDashboard } from './dashboard.ts';

await writeFile(new URL('./dashboards/sluice.json', import.meta.url), formatDashboard());
