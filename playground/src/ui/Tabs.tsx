import { useEffect, useId, useRef, type KeyboardEvent, type ReactNode } from 'react';
import { nextIndex } from './nextIndex.ts';
import './ui.css';

/** A tab. */
export interface Tab {
  readonly id: string;
  readonly label: ReactNode;
  /** A short text behind the label, such as a count. */
  readonly badge?: { readonly text: string; readonly tone?: 'error' | undefined } | undefined;
}

/** Properties of tabs. */
export interface TabsProps {
  /** The name of the list of tabs. */
  readonly label: string;
  readonly tabs: readonly Tab[];
  /** The id of the selected tab. */
  readonly selected: string | undefined;
  readonly onSelect: (id: string) => void;
  /** Controls behind the tabs. */
  readonly end?: ReactNode;
  readonly className?: string;
  /** The panel of the selected tab. */
  readonly children: ReactNode;
}

/** Tabs with the panel of the selected one. Arrow keys, Home and End move between the tabs and select. */
export function Tabs({ label, tabs, selected, onSelect, end, className = '', children }: TabsProps) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const { current: box } = list;
    if (!box) return undefined;
    // Many tabs are wider than their list. Only the list is scrolled, unlike by scrollIntoView.
    const show = (): void => {
      const tab = box.querySelector<HTMLElement>('[aria-selected=true]');
      if (!tab) return;
      const start = tab.offsetLeft - box.offsetLeft;
      const isHidden = start < box.scrollLeft || start + tab.offsetWidth > box.scrollLeft + box.clientWidth;
      if (isHidden) box.scrollLeft = start;
    };
    const observer = new ResizeObserver(show);
    observer.observe(box);
    return () => observer.disconnect();
  }, [selected, tabs.length]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const index = tabs.findIndex((tab) => tab.id === selected);
    const next = nextIndex(event.key, index, tabs.length);
    const tab = next === undefined ? undefined : tabs[next];
    if (next === undefined || !tab) return;
    event.preventDefault();
    onSelect(tab.id);
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus();
  };
  return (
    <div className={`ui-tabs ${className}`}>
      <div className="ui-tabs-bar">
        <div className="ui-tabs-list" role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
          {tabs.map((tab) => (
            <button
              key={tab.id}
              type="button"
              role="tab"
              className="ui-tab"
              id={`${id}${tab.id}`}
              aria-selected={tab.id === selected}
              aria-controls={tab.id === selected ? `${id}panel` : undefined}
              tabIndex={tab.id === selected ? 0 : -1}
              onClick={() => onSelect(tab.id)}
            >
              {tab.label}
              {tab.badge && (
                <span className="ui-tab-badge" data-tone={tab.badge.tone}>
                  {tab.badge.text}
                </span>
              )}
            </button>
          ))}
        </div>
        {end}
      </div>
      <div
        className="ui-tabs-panel"
        role="tabpanel"
        id={`${id}panel`}
        aria-labelledby={selected === undefined ? undefined : `${id}${selected}`}
        tabIndex={0}
      >
        {children}
      </div>
    </div>
  );
}
