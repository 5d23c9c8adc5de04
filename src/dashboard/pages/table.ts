import type { ComponentType } from 'preact';

export type PageComponent = ComponentType<Readonly<Record<string, string>>>;

interface Page {
  /** Below `/dashboard`. `:app` and the like become properties of the page. */
  readonly pattern: string;
  readonly load: () => Promise<{ readonly default: unknown }>;
}

/** Every page, with the file that is loaded for it. */
export const pages: readonly Page[] = [
  { pattern: '/', load: () => import('./home/home-page.tsx') },
  { pattern: '/apps/:app/live', load: () => import('./live/live-page.tsx') },
  { pattern: '/apps/:app/send', load: () => import('./send/send-page.tsx') },
  { pattern: '/apps/:app/connect', load: () => import('./home/connect-page.tsx') },
  { pattern: '/apps/:app/usage', load: () => import('./usage/usage-page.tsx') },
];
