/**
 * Focuses the field of a JSON pointer in a form, or the nearest one that contains it, and opens the groups around it.
 * @returns false when the form has none.
 */
export function focusField(form: HTMLElement, pointer: string): boolean {
  for (let place = pointer; place !== ''; place = place.slice(0, place.lastIndexOf('/'))) {
    const field = form.querySelector<HTMLElement>(`[data-pointer="${CSS.escape(place)}"]`);
    if (!field) continue;
    for (let group = field.closest('details'); group; group = group.parentElement?.closest('details') ?? null)
      group.open = true;
    field.scrollIntoView({ block: 'nearest' });
    field.focus();
    if (field instanceof HTMLInputElement) field.select();
    return true;
  }
  return false;
}
