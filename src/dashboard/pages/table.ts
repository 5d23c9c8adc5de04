import type { ComponentType } from 'preact';

export type PageComponent = ComponentType<Readonly<Record<string, string>>>;

interface Page {
  /** Below `/dashboard`. `:app` and the like become properties of the page. */
  readonly pattern: string;
  readonly load: () => Promise<{ readonly default: unknown }>;
}

type PushPages = typeof import('./push-pages.ts').pushPages;
type AppPages = typeof import('./app-pages.ts').appPages;

// Small pages are loaded together: one file is smaller than many, and the next page is there at once.
const ofPush = (name: keyof PushPages) => async () => ({
  default: (await import('./push-pages.ts')).pushPages[name],
});
const ofApp = (name: keyof AppPages) => async () => ({
  default: (await import('./app-pages.ts')).appPages[name],
});

/** Every page, with the file that is loaded for it. */
export const pages: readonly Page[] = [
  { pattern: '/', load: () => import('./home/home-page.tsx') },
  { pattern: '/nodes', load: ofApp('nodes') },
  { pattern: '/log', load: ofApp('log') },
  { pattern: '/audit', load: ofApp('audit') },
  { pattern: '/apps/:app/live', load: () => import('./live/live-page.tsx') },
  { pattern: '/apps/:app/send', load: () => import('./send/send-page.tsx') },
  { pattern: '/apps/:app/connect', load: () => import('./home/connect-page.tsx') },
  { pattern: '/apps/:app/channels', load: ofApp('channels') },
  { pattern: '/apps/:app/channels/:channel', load: ofApp('channel') },
  { pattern: '/apps/:app/connections', load: ofApp('connections') },
  {
    pattern: '/apps/:app/connections/:socket',
    load: ofApp('connection'),
  },
  { pattern: '/apps/:app/problems', load: ofApp('problems') },
  { pattern: '/apps/:app/webhooks', load: ofApp('webhooks') },
  { pattern: '/apps/:app/webhooks/:webhook', load: ofApp('webhook') },
  { pattern: '/apps/:app/keys', load: ofApp('keys') },
  { pattern: '/apps/:app/settings', load: ofApp('settings') },
  { pattern: '/push/:instance/compose', load: () => import('./compose/compose-page.tsx') },
  { pattern: '/push/:instance/credentials', load: ofPush('credentials') },
  { pattern: '/push/:instance/publishes', load: ofPush('publishes') },
  {
    pattern: '/push/:instance/publishes/:publish',
    load: ofPush('publish'),
  },
  { pattern: '/push/:instance/devices', load: ofPush('devices') },
  { pattern: '/push/:instance/devices/:device', load: ofPush('device') },
  { pattern: '/users/:user', load: ofPush('user') },
  { pattern: '/apps/:app/usage', load: ofApp('usage') },
];
