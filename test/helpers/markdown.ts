import { anchorOf } from './docPages.ts';

const fenced = /^ *```[^\n]*\n.*?^ *```$/gms;

const withoutBlocks = (text: string): string => text.replaceAll(fenced, '');
const withoutCode = (text: string): string => withoutBlocks(text).replaceAll(/`[^`\n]+`/g, '');

/** Targets of the relative links in a page. */
export const linksOf = (text: string): readonly string[] =>
  [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));

/** Anchors of the headings in a page, as GitHub creates them. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const seen = new Map<string, number>();
  const slugs = [...withoutBlocks(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => {
    const slug = anchorOf(heading);
    const before = seen.get(slug) ?? 0;
    seen.set(slug, before + 1);
    return before === 0 ? slug : `${slug}-${before}`;
  });
  return new Set(slugs);
}
