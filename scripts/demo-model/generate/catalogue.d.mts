export interface Action {
  action: string;
  topic: string;
  names: string[];
  descriptions: string[];
  parameters: Record<string, Record<string, unknown>>;
  requests: string[];
}
export interface Catalogue {
  actions: Action[];
  values: Record<string, unknown>;
}
export function readCatalogue(): Catalogue;
