import type { Message } from '../../chat/dialog.ts';

/** Where the template of a node is inserted, relative to the user's message, and with which role. */
export const placements = [
  'in_place_of_user',
  'before_user_as_system',
  'before_user_as_user',
  'after_user_as_system',
  'after_user_as_user',
] as const;

/** Position and role of a template. */
export type Placement = (typeof placements)[number];

/** The last messages of a prompt: the user's message, and the text of a template at its placement. */
export function placeTemplate(
  message: string,
  template?: { readonly text: string; readonly placement: Placement },
): readonly Message[] {
  const user: Message = { role: 'user', text: message };
  if (!template || template.text === '') return [user];
  const { text } = template;
  switch (template.placement) {
    case 'in_place_of_user':
      return [{ role: 'user', text }];
    case 'before_user_as_system':
      return [{ role: 'system', text }, user];
    case 'before_user_as_user':
      return [{ role: 'user', text }, user];
    case 'after_user_as_system':
      return [user, { role: 'system', text }];
    case 'after_user_as_user':
      return [user, { role: 'user', text }];
    default:
      return template.placement satisfies never;
  }
}
