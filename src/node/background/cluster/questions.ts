import type {
  ConnectionDetails,
  ConnectionFilter,
  ListedConnection,
} from '../../../admin/channels/inspecting.ts';
import type { LogPage, LogQuery } from '../../../admin/log/server-log.ts';
import type {
  Checked,
  GatewaysOfServer,
  KeptFigures,
  NodeReport,
} from '../../../admin/monitoring/monitoring.ts';
import type { ProblemGroup } from '../../../channels/problems/problem-book.ts';
import type { UsedKey } from '../../../runtime/keys/key-uses.ts';
import type { EndpointHealth } from '../../../webhooks/sending/endpoint-health.ts';
import type { WaitingFor } from '../../../webhooks/webhooks.ts';
import type { Installation } from './installation.ts';

/** A part of one server's connections. `next` is where the list continues; `undefined` at the end. */
export interface ConnectionsOfServer {
  readonly connections: readonly ListedConnection[];
  readonly next?: string | undefined;
}

/** An app or an instance. */
export interface Tenant {
  readonly kind: 'app' | 'instance';
  readonly id: string;
}

/** When the keys of a tenant were last used on one server. */
export interface KeyUsesOfServer {
  /** When the record begins: the start of the server. */
  readonly sinceMs: number;
  /** Secret keys have the names that are shown for them. */
  readonly keys: readonly UsedKey[];
}

/** How one server was answered by a webhook address. */
export type EndpointOfServer = Omit<EndpointHealth, 'lastAnswer'> & WaitingFor;

/** The questions that servers of a cluster ask each other, with their answers, as JSON. */
export interface ClusterQuestions {
  /** The heartbeat question. Older releases say nothing of their installation, and answer `true`. */
  here: {
    ask: { readonly installation?: Installation | undefined };
    answer: true | { readonly installation?: Installation | undefined };
  };
  /** Whether it answers. Older releases answer `null`, which is enough. */
  alive: { ask: Record<never, never>; answer: true };
  report: { ask: Record<never, never>; answer: NodeReport };
  conditions: { ask: Record<never, never>; answer: Checked };
  figures: { ask: { readonly sinceMs: number }; answer: KeptFigures };
  problems: { ask: { readonly appId: string }; answer: readonly ProblemGroup[] };
  /** Older releases do not know it, and answer nothing. */
  'key-uses': { ask: { readonly tenant: Tenant }; answer: KeyUsesOfServer };
  log: { ask: LogQuery; answer: LogPage };
  gateways: { ask: { readonly instanceId: string }; answer: GatewaysOfServer };
  /** The addresses that were tried most recently. */
  endpoints: { ask: { readonly ownerId: string | undefined }; answer: readonly EndpointOfServer[] };
  /** `unknown`: the list no longer exists. */
  connections: { ask: ConnectionFilter; answer: ConnectionsOfServer | 'unknown' };
  /** `none`: no such connection. */
  connection: {
    ask: { readonly appId: string; readonly socketId: string };
    answer: ConnectionDetails | 'none';
  };
  /** Whether the connection existed. */
  end: { ask: { readonly appId: string; readonly socketId: string }; answer: boolean };
}

export type ClusterQuestion = {
  [What in keyof ClusterQuestions]: { readonly what: What } & ClusterQuestions[What]['ask'];
}[keyof ClusterQuestions];
