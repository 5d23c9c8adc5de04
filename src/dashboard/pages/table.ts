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
  { pattern: '/nodes', load: () => import('./nodes/nodes-page.tsx') },
  { pattern: '/log', load: () => import('./log/log-page.tsx') },
  { pattern: '/audit', load: () => import('./audit/audit-page.tsx') },
  { pattern: '/apps/:app/live', load: () => import('./live/live-page.tsx') },
  { pattern: '/apps/:app/send', load: () => import('./send/send-page.tsx') },
  { pattern: '/apps/:app/connect', load: () => import('./home/connect-page.tsx') },
  { pattern: '/apps/:app/channels', load: () => import('./channels/channels-page.tsx') },
  { pattern: '/apps/:app/channels/:channel', load: () => import('./channels/channel-page.tsx') },
  { pattern: '/apps/:app/connections', load: () => import('./connections/connections-page.tsx') },
  {
    pattern: '/apps/:app/connections/:socket',
    load: () => import('./connections/connection-page.tsx'),
  },
  { pattern: '/apps/:app/problems', load: () => import('./problems/problems-page.tsx') },
  { pattern: '/apps/:app/webhooks', load: () => import('./webhooks/webhooks-page.tsx') },
  { pattern: '/apps/:app/webhooks/:webhook', load: () => import('./webhooks/webhook-page.tsx') },
  { pattern: '/apps/:app/keys', load: () => import('./app/keys-page.tsx') },
  { pattern: '/apps/:app/settings', load: () => import('./app/settings-page.tsx') },
  { pattern: '/push/:instance/compose', load: () => import('./compose/compose-page.tsx') },
  {
    pattern: '/push/:instance/credentials',
    load: () => import('./credentials/credentials-page.tsx'),
  },
  { pattern: '/push/:instance/publishes', load: () => import('./publishes/publishes-page.tsx') },
  {
    pattern: '/push/:instance/publishes/:publish',
    load: () => import('./publishes/publish-page.tsx'),
  },
  { pattern: '/apps/:app/usage', load: () => import('./usage/usage-page.tsx') },
];
