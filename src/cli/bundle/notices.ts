import type { CatalogueEntry } from '../../inference/models/catalogue/catalogue.ts';
import type { LicensedPart } from './bundlePart.ts';

/** The file with the licences at the top of a bundle. */
export const noticesFile = 'THIRD-PARTY-NOTICES';

/** What the notices are about. */
export interface NoticesContent {
  readonly parts: readonly LicensedPart[];
  readonly models: readonly CatalogueEntry[];
}

/** Writes the notices: a list of all parts, then the licence text of each. */
export function writeNotices({ parts, models }: NoticesContent): string {
  const list = parts.map((part) => `  ${titleOf(part)}`);
  const modelList = models.map(describeModel);
  return [
    'This folder contains turngraph, and the following parts of others, each under its own licence.',
    '',
    ...list,
    '',
    ...(modelList.length === 0 ? [] : ['Models, whose weights have licences of their own:', '', ...modelList, '']),
    ...parts.map((part) => `${line}\n${titleOf(part)}\n${line}\n\n${part.text}`),
  ].join('\n');
}

const line = '='.repeat(80);

const titleOf = ({ name, version, license }: LicensedPart): string =>
  `${name}${version === '' ? '' : ` ${version}`}${license === '' ? '' : ` (${license})`}`;

function describeModel({ name, variants: [variant] }: CatalogueEntry): string {
  const license = variant?.license || 'licence not named in the catalogue';
  const repo = variant?.huggingface_repo;
  return `  ${name} (${license})${repo === undefined ? '' : `, https://huggingface.co/${repo}`}`;
}
