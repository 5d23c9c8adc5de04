import type { ComponentType } from 'preact';
import type { PageName } from '../places/pages.ts';
import HomePage from './home/home-page.tsx';

export type PageComponent = ComponentType<Readonly<Record<string, string>>>;

/** Loads a page. Home is there already: it is opened first, and needs little of the others. */
export async function load(name: PageName): Promise<PageComponent> {
  const page = name === 'home' ? HomePage : (await import('./other-pages.ts')).otherPages[name];
  return page as PageComponent;
}
