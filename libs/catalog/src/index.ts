export * from './catalog.ts';
export { type CatalogSettings, catalogSpellings, defaultCatalogSettings } from './settings.ts';
