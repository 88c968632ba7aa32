export { startEnvironment } from './config.ts';
