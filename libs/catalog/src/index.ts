export * from './catalog.ts';
export * from './load.ts';
export { isModelName } from './names.ts';
export {
  type CatalogSettings,
  catalogSettings,
  defaultCatalogSettings,
} from './settings.ts';
