export * from './catalog.ts';
export * from './load.ts';
export { type CatalogSettings, catalogSpellings, defaultCatalogSettings } from './settings.ts';
