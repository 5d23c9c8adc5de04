import { describe, expect, it } from 'bun:test';
import { OperationRefused } from '../tenants/operation-refused.ts';
import { authorise } from './authorise.ts';
import type { Operation } from './operation.ts';
import { operations } from './operations.ts';
import { PathValues } from './path-values.ts';
import { type Rights, type Role, roles } from './rights.ts';

const caller = { how: 'proxy', user: 'ann', groups: ['staff'] } as const;

/** Every operation below the least role that may call it. Those that are open need none. */
const leastRoles: Readonly<Record<Role | 'open', readonly string[]>> = {
  open: ['logIn', 'logOut'],
  viewer: [
    'findPublish',
    'getApp',
    'getDescription',
    'getFigures',
    'getInstance',
    'getLive',
    'getMemory',
    'getPublish',
    'getServer',
    'getSession',
    'listApps',
    'listChannels',
    'listConditions',
    'listGateways',
    'listInstances',
    'listKeys',
    'listNodes',
    'listPublishes',
    'listSecretKeys',
    'listSources',
    'listUsage',
    'listWebhookEndpoints',
    'listWebhooks',
    'watchApp',
  ],
  support: [
    'checkAuth',
    'explainDevice',
    'getChannel',
    'getChannelHistory',
    'getConnection',
    'getDevice',
    'getUser',
    'getWebhook',
    'listConnections',
    'listDevicePublishes',
    'listDevices',
    'listLog',
    'listProblems',
    'listPublishDevices',
    'listPublishUsers',
    'listRevocations',
    'previewPublish',
    'watchInstance',
    'watchLog',
  ],
  operator: [
    'cancelPublish',
    'checkGateway',
    'endConnection',
    'forgetChannelHistory',
    'replayWebhook',
    'replayWebhooks',
    'revokeGrants',
    'sendEvent',
    'sendPublish',
    'testWebhook',
  ],
  admin: [
    'addKey',
    'addSecretKey',
    'changeApp',
    'changeInstance',
    'createApp',
    'createInstance',
    'deleteApp',
    'deleteInstance',
    'disableApp',
    'enableApp',
    'listAudit',
    'makeLogInLink',
    'removeDevice',
    'removeDevices',
    'removeKey',
    'removeSecretKey',
  ],
};

const everything: Rights = { role: 'admin', apps: '*', instances: '*', seesPayloads: true };
const some: Rights = { ...everything, apps: ['mine'], instances: ['a-b'] };

interface Given {
  readonly id?: string;
  readonly secrets?: boolean;
}

/** The status with which a call is refused; `undefined` if it is not. */
function refusal(
  operation: Operation,
  rights: Rights | undefined,
  { id = 'mine', secrets = false }: Given = {},
): number | undefined {
  try {
    authorise(operation, rights, {
      caller,
      path: new PathValues(operation.path, { id }),
      query: secrets ? { secrets: 'true' } : {},
    });
    return undefined;
  } catch (error) {
    if (error instanceof OperationRefused) return error.status;
    throw error;
  }
}

describe('each operation', () => {
  it('has the least role that was decided for it', () => {
    const found = Map.groupBy(operations, ({ open, role }) => (open ? 'open' : role));
    const ids = [...found].map(([role, all]) => [role, all.map(({ id }) => id).toSorted()]);
    expect(Object.fromEntries(ids)).toEqual(leastRoles);
  });

  it.each(operations.map((one) => [one.id, one] as const))(
    'refuses every lower role: %s',
    (_, operation) => {
      const id = operation.path.startsWith('/instances') ? 'A-B' : 'mine';
      for (const [place, role] of roles.entries()) {
        const isEnough = place >= roles.indexOf(operation.role);
        expect(refusal(operation, { ...everything, role }, { id })).toBe(
          isEnough ? undefined : 403,
        );
        // Secrets are for admins alone, whatever else an operation shows.
        expect(refusal(operation, { ...everything, role }, { id, secrets: true })).toBe(
          role === 'admin' ? undefined : 403,
        );
      }
      expect(refusal(operation, undefined, { id })).toBe(403);
    },
  );

  it('lets nobody below operator change anything', () => {
    // Ask a question that does not fit into a query.
    const asks = ['checkAuth', 'previewPublish'];
    const changes = operations.filter(
      ({ id, method, open }) => method !== 'GET' && !open && !asks.includes(id),
    );
    for (const { id, role } of changes) {
      expect([id, role]).toEqual([id, expect.stringMatching(/^(operator|admin)$/)]);
    }
  });

  it('concerns those apps and instances that the caller may see', () => {
    for (const operation of operations) {
      const { path, restricted } = operation;
      const [, noun = ''] = /^\/(apps|instances)\/\{id\}/.exec(path) ?? [];
      const mine = refusal(operation, some, { id: noun === 'instances' ? 'A-B' : 'mine' });
      const other = refusal(operation, some, { id: 'other' });
      const expected =
        noun !== ''
          ? [undefined, 404]
          : restricted === 'filtered'
            ? [undefined, undefined]
            : [403, 403];
      expect([operation.id, mine, other]).toEqual([operation.id, ...expected]);
    }
  });
});
