export * from './catalog.ts';
export * from './load.ts';
export { isModelName } from './names.ts';
export { reportCatalog } from './report.ts';
export { catalogSettings, defaultCatalogSettings } from './settings.ts';
