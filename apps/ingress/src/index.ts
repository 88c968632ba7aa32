export { type IngressConfig, ingressEnvironment } from './config.ts';
