import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import { z } from 'zod';
import {
  type AdminAnswer,
  admin,
  type MadeApp,
  makeApp,
  webhooksOf,
} from '../../testing/clients/admin-api.ts';
import { pathOf, RawClient } from '../../testing/clients/raw-client.ts';
import { trigger } from '../../testing/clients/sign.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import {
  startWebhookEndpoint,
  type WebhookEndpoint,
} from '../../testing/servers/webhook-endpoint.ts';
import { newInstance, published, registered } from '../protocol/push/exchange.ts';

interface Described {
  readonly operationId: string;
  readonly 'x-role'?: string;
  /** Empty if no password is needed. */
  readonly security?: readonly object[];
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, Answered | Reference>>;
}

interface Answered {
  readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>>;
}

interface Reference {
  readonly $ref: string;
}

type JsonSchema = z.core.JSONSchema.JSONSchema;

interface Description {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: {
    readonly responses: Readonly<Record<string, Answered>>;
    readonly schemas: Readonly<Record<string, JsonSchema>>;
  };
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'TRACE'];

const description: Description = await Bun.file(
  join(import.meta.dir, '../../docs/reference/openapi.json'),
).json();

const described = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    method: method.toUpperCase(),
    path,
    operation,
  })),
);

let server: Fanfare;
let endpoint: WebhookEndpoint;
let app: MadeApp;
let client: RawClient;
let webhook: string;
beforeAll(async () => {
  server = await startFanfare({ config: { webhooks: { allowPrivateAddresses: true } } });
  endpoint = startWebhookEndpoint();
  app = await makeApp(server, { webhooks: [endpoint.webhook] });
  client = await RawClient.connect(server, { path: pathOf(7, app.key) });
  await client.subscribe('a');
  await trigger(server, { name: 'e', channel: 'a', data: 'x' });
  const [found] = await webhooksOf(server, `app=${app.id}&state=delivered`, 1);
  webhook = found?.id ?? '';
});
afterAll(async () => {
  await client[Symbol.asyncDispose]();
  endpoint[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

interface ValidCall {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: object;
}

/** A valid call of each operation. */
const successes: Readonly<Record<string, () => Promise<ValidCall>>> = {
  getHealth: async () => ({}),
  getReadiness: async () => ({}),
  getMetrics: async () => ({}),
  getServer: async () => ({}),
  listConditions: async () => ({}),
  getFigures: async () => ({}),
  listNodes: async () => ({}),
  listLog: async () => ({}),
  watchLog: async () => ({}),
  listApps: async () => ({}),
  createApp: async () => ({
    body: { name: 'x', clientEvents: true, limits: { connections: 1 }, webhooks: [] },
  }),
  getApp: async () => ({ path: { id: APP.id } }),
  changeApp: async () => ({ path: { id: app.id }, body: { name: 'y' } }),
  deleteApp: async () => ({ path: { id: (await makeApp(server)).id } }),
  addKey: async () => ({ path: { id: app.id } }),
  removeKey: async () => {
    const { json } = await admin(server, 'POST', `/apps/${app.id}/keys`);
    return { path: { id: app.id, key: (json as { key: string }).key } };
  },
  disableApp: async () => ({ path: { id: (await makeApp(server)).id } }),
  enableApp: async () => ({ path: { id: app.id } }),
  getLive: async () => ({}),
  getMemory: async () => ({}),
  listSources: async () => ({}),
  listChannels: async () => ({ path: { id: app.id } }),
  sendEvent: async () => ({
    path: { id: app.id },
    body: { name: 'e', channels: ['a'], data: 'x' },
  }),
  watchApp: async () => {
    const { id } = await makeApp(server);
    // The stream ends with its app.
    const opened = server.logsNext(/Live stream opened/);
    void opened.then(() => admin(server, 'DELETE', `/apps/${id}`));
    return { path: { id } };
  },
  checkAuth: async () => ({
    path: { id: app.id },
    body: { channel: 'private-a', socketId: '1.2', auth: 'x:y' },
  }),
  revokeGrants: async () => ({
    path: { id: (await makeApp(server, { grants: {} })).id },
    body: { userId: 'ann' },
  }),
  listRevocations: async () => ({ path: { id: app.id } }),
  getChannel: async () => ({ path: { id: app.id, name: 'a' } }),
  getChannelHistory: async () => ({ path: { id: app.id, name: 'a' } }),
  forgetChannelHistory: async () => ({ path: { id: app.id, name: 'a' } }),
  listKeys: async () => ({ path: { id: app.id } }),
  listProblems: async () => ({ path: { id: app.id } }),
  listConnections: async () => ({ path: { id: app.id } }),
  getConnection: async () => ({ path: { id: app.id, socket: await socketId() } }),
  endConnection: async () => {
    const doomed = await RawClient.connect(server, { path: pathOf(7, app.key) });
    return { path: { id: app.id, socket: doomed.socketId } };
  },
  listUsage: async () => ({ path: { id: APP.id } }),
  listInstances: async () => ({}),
  createInstance: async () => ({ body: { name: 'x', limits: { devices: 1 }, webhooks: [] } }),
  watchInstance: async () => {
    const id = await makeInstance();
    // The stream ends with its instance.
    const opened = server.logsNext(/Live stream opened/);
    void opened.then(() => admin(server, 'DELETE', `/instances/${id}`));
    return { path: { id } };
  },
  listSecretKeys: async () => ({ path: { id: await makeInstance() } }),
  getInstance: async () => ({ path: { id: await makeInstance() } }),
  changeInstance: async () => ({ path: { id: await makeInstance() }, body: { name: 'y' } }),
  deleteInstance: async () => ({ path: { id: await makeInstance() } }),
  addSecretKey: async () => ({ path: { id: await makeInstance() } }),
  removeSecretKey: async () => {
    const id = await makeInstance();
    const { json } = await admin(server, 'POST', `/instances/${id}/keys`);
    return { path: { id, key: (json as { secretKey: string }).secretKey } };
  },
  listGateways: async () => ({ path: { id: await makeInstance() } }),
  checkGateway: async () => ({
    path: { id: await makeInstance({ web: { allowedHosts: ['localhost:1'] } }) },
    body: { platform: 'web' },
  }),
  previewPublish: async () => ({
    path: { id: await makeInstance() },
    body: { interests: ['a'], web: { notification: { title: 'x' } } },
  }),
  sendPublish: async () => ({
    path: { id: await makeInstance() },
    body: { users: ['ann'], web: { notification: { title: 'x' } } },
  }),
  listDevices: async () => ({ path: { id: (await makeDevice()).id } }),
  getDevice: async () => ({ path: await makeDevice() }),
  removeDevice: async () => ({ path: await makeDevice() }),
  listDevicePublishes: async () => ({ path: await makeDevice() }),
  listPublishDevices: async () => ({ path: await makePublish() }),
  explainDevice: async () => ({ path: await makePublish() }),
  getUser: async () => ({
    path: { user: 'ann' },
    query: `?app=${app.id}&instance=${(await makeDevice()).id}`,
  }),
  removeDevices: async () => ({
    path: { id: (await makeDevice()).id },
    body: { neverAccepted: true, registeredBefore: '2099-01-01T00:00:00Z' },
  }),
  listPublishes: async () => ({ path: { id: await makeInstance() } }),
  findPublish: async () => ({ path: { publish: (await makePublish()).publish } }),
  getPublish: async () => ({ path: await makePublish() }),
  listPublishUsers: async () => ({ path: await makePublish() }),
  cancelPublish: async () => ({ path: await makePublish() }),
  listWebhookEndpoints: async () => ({}),
  replayWebhooks: async () => ({ body: { app: 'nobody' } }),
  testWebhook: async () => ({ path: { id: app.id }, body: { url: endpoint.url } }),
  listWebhooks: async () => ({}),
  getWebhook: async () => ({ path: { id: webhook } }),
  replayWebhook: async () => ({ path: { id: webhook } }),
  logIn: async () => ({ body: { password: server.adminPassword } }),
  listAudit: async () => ({}),
  makeLogInLink: async () => ({}),
  getSession: async () => ({}),
  logOut: async () => ({}),
  getDescription: async () => ({}),
};

async function socketId(): Promise<string> {
  const { json } = await admin(server, 'GET', `/apps/${app.id}/connections`);
  return (json as { connections: { socketId: string }[] }).connections[0]?.socketId ?? '';
}

/** Operations of an app that are no reads, and that its configuration does not forbid. */
const changeNoApp = [
  'sendEvent',
  'checkAuth',
  'revokeGrants',
  'endConnection',
  'testWebhook',
  'forgetChannelHistory',
];

async function makeInstance(body: object = {}): Promise<string> {
  const { json } = await admin(server, 'POST', '/instances', { body });
  return (json as { id: string }).id;
}

/** Makes an instance with a device. */
async function makeDevice() {
  const instance = await newInstance(server);
  return { id: instance.id, device: await registered(instance) };
}

/** Makes an instance with a device and a publish. */
async function makePublish() {
  const instance = await newInstance(server);
  const device = await registered(instance);
  return { id: instance.id, device, publish: await published(instance) };
}

/** Streams that end with the server alone. */
const endless = ['watchLog'];

const filled = (path: string, steps: Readonly<Record<string, string>>) =>
  path.replace(/\{(\w+)\}/g, (_, name) => steps[name] ?? 'missing');

/** The references of a document or a part of it. */
function referencesIn(part: object): readonly string[] {
  return [...JSON.stringify(part).matchAll(/"\$ref":"([^"]+)"/g)].map(([, target = '']) => target);
}

/** The part of the description that a reference names. */
function partAt(reference: string): unknown {
  const steps = reference.replace(/^#\//, '').split('/');
  return steps.reduce<unknown>((part, step) => Object(part)[step], description);
}

/** A JSON schema of the same, with its definitions in their place, that takes no field that it does not describe. */
function strict<Schema extends object>(schema: Schema): Schema {
  const text = JSON.stringify(schema).replaceAll('#/components/schemas/', '#/$defs/');
  const close = (_: string, part: { type?: unknown; properties?: unknown } | null) =>
    part?.type === 'object' && part.properties !== undefined
      ? { additionalProperties: false, ...part }
      : part;
  return JSON.parse(text, close);
}

const $defs = strict(description.components.schemas);

/** Checks an answer against the description for its status. */
function expectDescribed(operation: Described, answer: AdminAnswer): void {
  const type = answer.headers.get('content-type')?.split(';')[0] ?? '';
  const given = operation.responses[answer.status] ?? { content: {} };
  const { content } = '$ref' in given ? (partAt(given.$ref) as Answered) : given;
  const described = content[type];
  if (described === undefined) {
    throw new Error(`${operation.operationId} gave ${answer.status} ${type}: ${answer.text}`);
  }
  const shape = z.fromJSONSchema({ ...strict(described.schema), $defs });
  const value = type === 'application/json' ? answer.json : answer.text;
  expect(shape.safeParse(value)).toMatchObject({ success: true });
}

/** Every object with three or more fields in the description, without its own description. */
function* objectsIn(
  part: unknown,
  place: string,
): Generator<readonly [text: string, place: string]> {
  if (typeof part !== 'object' || part === null) return;
  if ('properties' in part && Object.keys(Object(part.properties)).length >= 3) {
    yield [JSON.stringify({ ...part, description: undefined, default: undefined }), place];
  }
  for (const [name, inner] of Object.entries(part)) yield* objectsIn(inner, `${place}/${name}`);
}

describe('the OpenAPI description', () => {
  it('matches what the server serves', async () => {
    const { json, status } = await admin(server, 'GET', '/openapi.json');
    expect(status).toBe(200);
    expect(json).toEqual(description);
  });

  it('has unique names that begin with a verb, and a parameter for each variable of a path', () => {
    const ids = described.map(({ operation }) => operation.operationId);
    expect(ids.toSorted()).toEqual(Object.keys(successes).toSorted());
    // Generated clients have a method for each, beside types with the names of schemas.
    for (const id of ids) expect(id).toMatch(/^[a-z]+[A-Z]\w*$/);
    for (const { path, operation } of described) {
      const steps = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const inPath = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
      expect(inPath.map(({ name }) => name as string | undefined)).toEqual(steps);
    }
  });

  it('names the least role of every operation of the API', () => {
    for (const { path, operation } of described.filter((one) => one.path.startsWith('/api/'))) {
      expect([path, operation['x-role']]).toEqual([path, expect.stringMatching(/^\w+$/)]);
    }
  });

  it('defines what it refers to, and uses each name', () => {
    const references = new Set(referencesIn(description));
    for (const reference of references)
      expect([reference, partAt(reference)]).toEqual([reference, expect.any(Object)]);
    const { responses, schemas } = description.components;
    const names = [
      ...Object.keys(responses).map((name) => `#/components/responses/${name}`),
      ...Object.keys(schemas).map((name) => `#/components/schemas/${name}`),
    ];
    expect(names.filter((name) => !references.has(name))).toEqual([]);
    expect(names.length).toBeGreaterThan(50);
  });

  it('describes no object of three or more fields twice, because the second one has a name to refer to', () => {
    const places = Map.groupBy(objectsIn(description, ''), ([text]) => text);
    const repeated = [...places.values()].filter((found) => found.length > 1);
    expect(repeated.map((found) => found.map(([, place]) => place))).toEqual([]);
  });

  it.each(
    described
      .filter(({ operation }) => !endless.includes(operation.operationId))
      .map((one) => [`${one.method} ${one.path}`, one] as const),
  )('is true of %s', async (_, { method, path, operation }) => {
    const given = await successes[operation.operationId]?.();
    const { path: steps = {}, query = '', body } = given ?? {};
    const target = `/${filled(path, steps)}`;
    const done = await admin(server, method, target + query, { body });
    expect(done.status).toBeLessThan(300);
    expectDescribed(operation, done);
    // Secrets are shown when they are made, or asked for by name.
    for (const secret of [APP.secret, String(server.adminPassword)]) {
      expect(done.text.includes(secret)).toBe(false);
    }
    expect(body !== undefined).toBe(operation.requestBody !== undefined);

    // All refusals that a client can cause.
    if (path.includes('{')) {
      const unknown = filled(path, { id: 'nowhere', key: 'nothing' });
      const owner = query === '' ? '' : '?app=nowhere';
      const refused = await admin(server, method, `/${unknown}${owner}`, { body });
      expect(refused.status).toBe(404);
      expectDescribed(operation, refused);
    }
    if (path.startsWith('/api/')) {
      const strange = await admin(server, method, `${target}?strange=1`, { body });
      expect(strange.status).toBe(400);
      expectDescribed(operation, strange);
    }
    if (method !== 'GET') {
      for (const [request, status] of [
        [{ raw: 'x', headers: { 'content-type': 'text/plain' } }, 415],
        [{ raw: 'x'.repeat(70_000) }, 413],
      ] as const) {
        const refused = await admin(server, method, target, request);
        expect(refused.status).toBe(status);
        expectDescribed(operation, refused);
      }
    }
  });

  it('is true of GET /api/v1/log/stream', async () => {
    await using stopping = await startFanfare();
    const opened = stopping.logsNext(/Log stream opened/);
    const shown = admin(stopping, 'GET', '/log/stream');
    await opened;
    await stopping.stop();
    const found = described.find(({ operation }) => operation.operationId === 'watchLog');
    expectDescribed(found?.operation ?? Object(null), await shown);
  });

  it('holds for apps of the configuration, which cannot be changed', async () => {
    for (const { method, path, operation } of described) {
      if (method === 'GET' || !path.startsWith('/api/v1/apps/{id}')) continue;
      if (changeNoApp.includes(operation.operationId)) continue;
      const { body } = (await successes[operation.operationId]?.()) ?? {};
      const target = filled(path, { id: APP.id, key: APP.key });
      const refused = await admin(server, method, `/${target}`, { body });
      expect(refused.status).toBe(409);
      expectDescribed(operation, refused);
    }
  });

  it('has every method of a path, and no path accepts another', async () => {
    for (const [path, methods] of Object.entries(description.paths)) {
      // HEAD is answered wherever GET is.
      const taken = Object.keys(methods).flatMap((method) =>
        method === 'get' ? ['GET', 'HEAD'] : method.toUpperCase(),
      );
      for (const method of METHODS.filter((one) => !taken.includes(one))) {
        const answer = await admin(server, method, `/${filled(path, { id: 'x', key: 'y' })}`);
        expect([path, method, answer.status]).toEqual([path, method, 405]);
        expect(answer.headers.get('allow')?.split(', ').toSorted()).toEqual(taken.toSorted());
      }
    }
  });

  it('matches the refusals of a listener with a password', async () => {
    await using shut = await startFanfare({ config: { admin: { port: 0, password: 'x' } } });
    for (const { method, path, operation } of described) {
      const answer = await admin(shut, method, `/${filled(path, { id: 'x', key: 'y' })}`);
      const isOpen = operation.security?.length === 0;
      // Without a password in its body, a log-in is not even wrong.
      const status = operation.operationId === 'logIn' ? 400 : isOpen ? 200 : 401;
      expect([path, answer.status]).toEqual([path, status]);
      expectDescribed(operation, answer);
    }
  });
});
