import { signal } from '@preact/signals';

const KEPT_AS = 'fanfare.theme';
const themes = ['system', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];

export const theme = signal<Theme>(
  themes.find((each) => each === globalThis.localStorage?.getItem(KEPT_AS)) ?? 'system',
);

export function applyTheme(): void {
  const { dataset } = document.documentElement;
  if (theme.value === 'system') delete dataset['theme'];
  else dataset['theme'] = theme.value;
}

/** Goes from the system's colours to light ones, to dark ones, and back. */
export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? 'system';
  localStorage.setItem(KEPT_AS, theme.value);
  applyTheme();
}
