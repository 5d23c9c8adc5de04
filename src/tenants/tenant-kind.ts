import type { z } from 'zod';
import type { App } from '../channels/app.ts';
import type { WebhookEvent } from '../channels/lifecycle/webhook-event.ts';
import type { Config, InstanceSettings } from '../config/schema.ts';
import type { BeamsEventType } from '../push/model/instance.ts';
import type { StoredApp } from '../stores/tenants/app-store.ts';
import type { StoredInstance } from '../stores/tenants/instance-store.ts';

/** A tenant as stored. `settings` contains only what differs from the defaults. */
export interface StoredTenant {
  readonly id: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** What apps and instances differ in, for the code that serves and manages both. */
export interface TenantKind<Stored extends StoredTenant, Settings extends { readonly id: string }> {
  readonly noun: 'app' | 'instance';
  /** The setting that lists the tenants of the configuration. */
  readonly setting: 'channels.apps' | 'push.instances';
  /** Made when it is first asked for: a server without stored tenants starts without it. */
  readonly schema: z.ZodType<Settings>;
  readonly configured: (config: Config) => readonly Settings[];
  /** What no two tenants may share. */
  readonly identifiers: (tenant: Stored | Settings) => readonly string[];
  /** Why a stored tenant that shares an identifier with a configured one is not served. */
  readonly isConfigured: string;
}

/** The settings of tenants with webhooks. */
type WithWebhooks = z.ZodType<{ webhooks: { events: string[] }[] }>;

/** The types of events that a webhook of these settings can ask for. */
type Offered<Schema extends WithWebhooks> = z.output<Schema>['webhooks'][number]['events'][number];

/** The members that only one of two unions has. */
type Differing<One, Other> = Exclude<One, Other> | Exclude<Other, One>;

/**
 * A schema whose webhooks can ask for exactly these types of events. Any other schema does not compile, and the
 * compiler names the types that differ: without this, a webhook could never ask for a type that only the core knows.
 */
type Offering<Schema extends WithWebhooks, Types> = [Differing<Offered<Schema>, Types>] extends [
  never,
]
  ? Schema
  : Differing<Offered<Schema>, Types>;

export const appKind: TenantKind<StoredApp, App> = {
  noun: 'app',
  setting: 'channels.apps',
  get schema() {
    const { appSettings } =
      require('../config/settings/channels-settings.ts') as typeof import('../config/settings/channels-settings.ts');
    return appSettings satisfies Offering<typeof appSettings, WebhookEvent['name']>;
  },
  configured: ({ channels }) => channels.apps ?? [],
  identifiers: ({ id, keys }) => [`id ${id}`, ...keys.map(({ key }) => `key ${key}`)],
  isConfigured: 'the configuration has an app with its id or key',
};

export const instanceKind: TenantKind<StoredInstance, InstanceSettings> = {
  noun: 'instance',
  setting: 'push.instances',
  get schema() {
    const { instanceSettings } =
      require('../config/settings/push-settings.ts') as typeof import('../config/settings/push-settings.ts');
    return instanceSettings satisfies Offering<typeof instanceSettings, BeamsEventType>;
  },
  configured: ({ push }) => push.instances ?? [],
  identifiers: ({ id }) => [id],
  isConfigured: 'the configuration has an instance with its id',
};

function reader() {
  return require('./stored-settings.ts') as typeof import('./stored-settings.ts');
}

/** Loads what reading a stored tenant takes. */
export function loadReader(): void {
  reader();
  for (const kind of [appKind, instanceKind]) void kind.schema;
}

/** The stored tenants that can be served, and why the others cannot. */
export interface CompletedTenants<Settings> {
  readonly served: readonly Settings[];
  readonly notServed: readonly { readonly id: string; readonly why: string }[];
  /** Tenants with settings that this version does not know. They are served without these. */
  readonly unknown: readonly UnknownSettings[];
}

/** Settings of a tenant that a later version has stored. */
export interface UnknownSettings {
  readonly id: string;
  /** For example `limits.rooms`. */
  readonly settings: readonly string[];
}

/** All tenants of one kind, before the stored ones are completed. */
interface Tenants<Stored, Settings> {
  readonly stored: readonly Stored[];
  readonly configured: readonly Settings[];
}

/** Completes stored tenants with the defaults. Tenants in the configuration take precedence. */
export function completeTenants<Stored extends StoredTenant, Settings extends { id: string }>(
  kind: TenantKind<Stored, Settings>,
  { stored, configured }: Tenants<Stored, Settings>,
): CompletedTenants<Settings> {
  const taken = new Set(configured.flatMap(kind.identifiers));
  const served: Settings[] = [];
  const notServed: { id: string; why: string }[] = [];
  const unknown: UnknownSettings[] = [];
  for (const tenant of stored) {
    const { id, settings, ...own } = tenant;
    if (kind.identifiers(tenant).some((identifier) => taken.has(identifier))) {
      notServed.push({ id, why: kind.isConfigured });
      continue;
    }
    const read = reader().readStored(kind.schema, { ...settings, id, ...own });
    if ('why' in read) {
      notServed.push({ id, why: read.why });
      continue;
    }
    served.push(read.settings);
    if (read.unknown.length > 0) unknown.push({ id, settings: read.unknown });
  }
  return { served, notServed, unknown };
}
