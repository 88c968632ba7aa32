export { cliEnvironment } from './config.ts';
