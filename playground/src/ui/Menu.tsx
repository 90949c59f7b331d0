import { useId, useRef, type KeyboardEvent, type ReactNode, type ToggleEvent } from 'react';
import { Button, type ButtonProps } from './Button.tsx';
import { Icon } from './Icon.tsx';
import { nextIndex } from './nextIndex.ts';
import './ui.css';

/** An entry of a menu. */
export interface MenuItem {
  readonly id: string;
  readonly label: ReactNode;
  /** A line below the label. */
  readonly description?: string | undefined;
  readonly disabled?: boolean | undefined;
  /** Given: the entry is one of several choices. */
  readonly checked?: boolean | undefined;
}

/** Properties of a menu: the button's, and its entries. */
export interface MenuProps extends Omit<ButtonProps, 'onSelect'> {
  readonly items: readonly MenuItem[];
  readonly onSelect: (id: string) => void;
}

/** A button with a menu. Arrow keys, Home, End and the first letter move between the entries; Escape closes it. */
export function Menu({ items, onSelect, ...button }: MenuProps) {
  const id = useId();
  const trigger = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const entries = (): HTMLElement[] => [...(menu.current?.querySelectorAll<HTMLElement>('button:enabled') ?? [])];
  const onToggle = ({ newState }: ToggleEvent): void => {
    trigger.current?.setAttribute('aria-expanded', String(newState === 'open'));
    if (newState === 'open') (entries().find((entry) => entry.ariaChecked === 'true') ?? entries()[0])?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const all = entries();
    const index = all.indexOf(document.activeElement as HTMLElement);
    const next = nextIndex(event.key, index, all.length) ?? byLetter(all, index, event);
    if (event.key === 'Tab') menu.current?.hidePopover();
    if (next === undefined) return;
    event.preventDefault();
    all[next]?.focus();
  };
  return (
    <>
      <Button ref={trigger} aria-haspopup="menu" aria-expanded="false" popoverTarget={id} {...button} />
      <div
        ref={menu}
        id={id}
        popover="auto"
        className="ui-menu"
        role="menu"
        aria-label={button['aria-label'] ?? (typeof button.children === 'string' ? button.children : undefined)}
        onBeforeToggle={({ newState }) => newState === 'open' && place(trigger.current, menu.current)}
        onToggle={onToggle}
        onKeyDown={onKeyDown}
      >
        {items.map(({ id: item, label, description, disabled, checked }) => (
          <button
            key={item}
            type="button"
            className="ui-menu-item"
            role={checked === undefined ? 'menuitem' : 'menuitemradio'}
            aria-checked={checked}
            disabled={disabled}
            tabIndex={-1}
            onClick={() => {
              menu.current?.hidePopover();
              onSelect(item);
            }}
          >
            <span>{label}</span>
            {checked && <Icon name="check" />}
            {description !== undefined && <small>{description}</small>}
          </button>
        ))}
      </div>
    </>
  );
}

/** Places the menu below or above its button, at the side where there is more room. */
function place(trigger: HTMLElement | null, menu: HTMLElement | null): void {
  if (!trigger || !menu) return;
  const { top, bottom, left, right } = trigger.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const below = bottom < clientHeight / 2;
  const towardsRight = left < clientWidth - right;
  menu.style.top = below ? `${bottom}px` : 'auto';
  menu.style.bottom = below ? 'auto' : `${clientHeight - top}px`;
  menu.style.left = towardsRight ? `${left}px` : 'auto';
  menu.style.right = towardsRight ? 'auto' : `${clientWidth - right}px`;
}

/** The index of the next entry that begins with the letter of a key. */
function byLetter(all: readonly HTMLElement[], index: number, { key }: KeyboardEvent): number | undefined {
  if (key.length !== 1) return undefined;
  const begins = (at: number): boolean =>
    all[at]?.textContent.trim().toLowerCase().startsWith(key.toLowerCase()) ?? false;
  return [...all.keys()].map((offset) => (index + 1 + offset) % all.length).find(begins);
}
