import { useSettings, type Theme } from './settingsStore.ts';

/** Gives the page the colours of the chosen theme, now and when another one is chosen. Call it before the first paint. */
export function applyTheme(): void {
  const apply = (theme: Theme): void => {
    if (theme === 'system') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = theme;
  };
  apply(useSettings.getState().theme);
  useSettings.subscribe(({ theme }) => apply(theme));
}
