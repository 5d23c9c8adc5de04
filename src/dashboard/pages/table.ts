import type { ComponentType } from 'preact';
import HomePage from './home/home-page.tsx';

export type PageComponent = ComponentType<Readonly<Record<string, string>>>;

interface Page {
  /** Below `/dashboard`. `:app` and the like become properties of the page. */
  readonly pattern: string;
  readonly load: () => Promise<{ readonly default: unknown }>;
}

type OtherPages = typeof import('./other-pages.ts').otherPages;

const other = (name: keyof OtherPages) => async () => ({
  default: (await import('./other-pages.ts')).otherPages[name],
});

/** Every page. Home is in the first bundle: it is opened first, and needs little of the others. */
export const pages: readonly Page[] = [
  { pattern: '/', load: async () => ({ default: HomePage }) },
  { pattern: '/nodes', load: other('nodes') },
  { pattern: '/log', load: other('log') },
  { pattern: '/audit', load: other('audit') },
  { pattern: '/apps/:app/live', load: other('live') },
  { pattern: '/apps/:app/send', load: other('send') },
  { pattern: '/apps/:app/connect', load: other('connect') },
  { pattern: '/apps/:app/channels', load: other('channels') },
  { pattern: '/apps/:app/channels/:channel', load: other('channel') },
  { pattern: '/apps/:app/connections', load: other('connections') },
  {
    pattern: '/apps/:app/connections/:socket',
    load: other('connection'),
  },
  { pattern: '/apps/:app/problems', load: other('problems') },
  { pattern: '/apps/:app/webhooks', load: other('webhooks') },
  { pattern: '/apps/:app/webhooks/:webhook', load: other('webhook') },
  { pattern: '/apps/:app/keys', load: other('keys') },
  { pattern: '/apps/:app/settings', load: other('settings') },
  { pattern: '/push/:instance/live', load: other('live') },
  { pattern: '/push/:instance/compose', load: other('compose') },
  { pattern: '/push/:instance/credentials', load: other('credentials') },
  { pattern: '/push/:instance/settings', load: other('instanceSettings') },
  { pattern: '/push/:instance/publishes', load: other('publishes') },
  {
    pattern: '/push/:instance/publishes/:publish',
    load: other('publish'),
  },
  { pattern: '/push/:instance/devices', load: other('devices') },
  { pattern: '/push/:instance/devices/:device', load: other('device') },
  { pattern: '/users/:user', load: other('user') },
  { pattern: '/apps/:app/usage', load: other('usage') },
];
