export interface Action {
  action: string;
  topic: string;
  names: string[];
  descriptions: string[];
  parameters: Record<string, Record<string, unknown>>;
  requests: string[];
}
export interface Intent {
  asked: string[];
  answer: string;
}
export interface Character {
  who: string;
  names: string[];
  prompts: string[];
  unsure?: Record<string, string>;
  talk: Intent[];
}
export interface Catalogue {
  actions: Action[];
  values: Record<string, unknown>;
  chat: { talk: Intent[]; characters: Character[] };
  asides: Record<string, string[]>;
}
export function readCatalogue(): Catalogue;
