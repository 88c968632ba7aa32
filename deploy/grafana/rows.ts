import { latency, overview, traffic } from './client-rows.ts';
import { engines, processes, queue, repair } from './operator-rows.ts';
import type { Row } from './panel.ts';

/** The dashboard, from top to bottom. */
export const rows: readonly Row[] = [overview, traffic, latency, queue, engines, repair, processes];
