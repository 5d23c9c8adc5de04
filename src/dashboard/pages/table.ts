import type { ComponentType } from 'preact';
import HomePage from './home/home-page.tsx';

export type PageComponent = ComponentType<Readonly<Record<string, string>>>;

type OtherPages = typeof import('./other-pages.ts').otherPages;
type PageName = 'home' | keyof OtherPages;

/** Loads a page. Home is there already: it is opened first, and needs little of the others. */
export async function load(name: PageName): Promise<PageComponent> {
  const page = name === 'home' ? HomePage : (await import('./other-pages.ts')).otherPages[name];
  return page as PageComponent;
}

/** Every page: its address below `/dashboard`, where `:app` and the like become properties of the page, and its name. */
export const pages = [
  ['/', 'home'],
  ['/nodes', 'nodes'],
  ['/log', 'log'],
  ['/audit', 'audit'],
  ['/apps/:app/live', 'live'],
  ['/apps/:app/send', 'send'],
  ['/apps/:app/connect', 'connect'],
  ['/apps/:app/channels', 'channels'],
  ['/apps/:app/channels/:channel', 'channel'],
  ['/apps/:app/connections', 'connections'],
  ['/apps/:app/connections/:socket', 'connection'],
  ['/apps/:app/problems', 'problems'],
  ['/apps/:app/webhooks', 'webhooks'],
  ['/apps/:app/webhooks/:webhook', 'webhook'],
  ['/apps/:app/keys', 'keys'],
  ['/apps/:app/settings', 'settings'],
  ['/push/:instance/live', 'live'],
  ['/push/:instance/compose', 'compose'],
  ['/push/:instance/credentials', 'credentials'],
  ['/push/:instance/settings', 'instanceSettings'],
  ['/push/:instance/publishes', 'publishes'],
  ['/push/:instance/publishes/:publish', 'publish'],
  ['/push/:instance/devices', 'devices'],
  ['/push/:instance/devices/:device', 'device'],
  ['/users/:user', 'user'],
  ['/apps/:app/usage', 'usage'],
] as const satisfies readonly (readonly [pattern: string, name: PageName])[];

/** The address of a page, as in the table. */
export type PagePattern = (typeof pages)[number][0];
