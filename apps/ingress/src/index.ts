export { ingressEnvironment } from './config.ts';
