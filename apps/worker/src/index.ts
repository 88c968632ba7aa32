export { type WorkerConfig, workerEnvironment } from './config.ts';
