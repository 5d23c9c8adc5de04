import KeysPage from './app/keys-page.tsx';
import SettingsPage from './app/settings-page.tsx';
import AuditPage from './audit/audit-page.tsx';
import ChannelPage from './channels/channel-page.tsx';
import ChannelsPage from './channels/channels-page.tsx';
import ConnectionPage from './connections/connection-page.tsx';
import ConnectionsPage from './connections/connections-page.tsx';
import LogPage from './log/log-page.tsx';
import NodesPage from './nodes/nodes-page.tsx';
import ProblemsPage from './problems/problems-page.tsx';
import UsagePage from './usage/usage-page.tsx';
import WebhookPage from './webhooks/webhook-page.tsx';
import WebhooksPage from './webhooks/webhooks-page.tsx';

/** The pages of apps and of the whole server that are mostly tables. */
export const appPages = {
  audit: AuditPage,
  channel: ChannelPage,
  channels: ChannelsPage,
  connection: ConnectionPage,
  connections: ConnectionsPage,
  keys: KeysPage,
  log: LogPage,
  nodes: NodesPage,
  problems: ProblemsPage,
  settings: SettingsPage,
  usage: UsagePage,
  webhook: WebhookPage,
  webhooks: WebhooksPage,
};
