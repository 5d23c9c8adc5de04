// biome-ignore-all assist/source/organizeImports: pages that resemble each other are neighbours, which compresses better.
import LivePage from './live/live-page.tsx';
import SendPage from './send/send-page.tsx';
import ConnectPage from './home/connect-page.tsx';
import ComposePage from './compose/compose-page.tsx';
import LogPage from './log/log-page.tsx';
import ConnectionsPage from './connections/connections-page.tsx';
import ConnectionPage from './connections/connection-page.tsx';
import ChannelsPage from './channels/channels-page.tsx';
import ChannelPage from './channels/channel-page.tsx';
import UserPage from './user/user-page.tsx';
import DevicesPage from './devices/devices-page.tsx';
import DevicePage from './devices/device-page.tsx';
import PublishesPage from './publishes/publishes-page.tsx';
import PublishPage from './publishes/publish-page.tsx';
import CredentialsPage from './credentials/credentials-page.tsx';
import InstanceSettingsPage from './settings/instance-settings-page.tsx';
import AppSettingsPage from './settings/app-settings-page.tsx';
import KeysPage from './app/keys-page.tsx';
import AuditPage from './audit/audit-page.tsx';
import NodesPage from './nodes/nodes-page.tsx';
import UsagePage from './usage/usage-page.tsx';
import ProblemsPage from './problems/problems-page.tsx';
import WebhookPage from './webhooks/webhook-page.tsx';
import WebhooksPage from './webhooks/webhooks-page.tsx';

/** All pages except Home, in one file: that is smaller than many files, and the next page opens at once. */
export const otherPages = {
  audit: AuditPage,
  channel: ChannelPage,
  channels: ChannelsPage,
  compose: ComposePage,
  connect: ConnectPage,
  connection: ConnectionPage,
  connections: ConnectionsPage,
  credentials: CredentialsPage,
  device: DevicePage,
  devices: DevicesPage,
  keys: KeysPage,
  log: LogPage,
  live: LivePage,
  nodes: NodesPage,
  problems: ProblemsPage,
  publish: PublishPage,
  publishes: PublishesPage,
  send: SendPage,
  settings: AppSettingsPage,
  instanceSettings: InstanceSettingsPage,
  usage: UsagePage,
  user: UserPage,
  webhook: WebhookPage,
  webhooks: WebhooksPage,
};
