export { workerEnvironment } from './config.ts';
