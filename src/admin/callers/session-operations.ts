import { z } from 'zod';
import type { Caller } from '../../runtime/caller.ts';
import { OperationRefused } from '../../tenants/operation-refused.ts';
import { type Operation, operation } from '../operation.ts';
import { yesNo } from '../query-kinds.ts';
import { noRole, type Rights, roles } from '../rights.ts';

const every = z.literal('*');

/** Who is logged in, and with which rights. */
const shownSession = z
  .strictObject({
    user: z
      .string()
      .nullable()
      .describe('The name that a proxy gave; null for a log-in with the password.'),
    role: z.enum(roles).meta({ id: 'Role' }),
    apps: z.union([every, z.array(z.string())]).describe('`*` stands for all.'),
    instances: z.union([every, z.array(z.string())]).describe('`*` stands for all.'),
    payloads: z.boolean().describe('Whether payloads and personal data are shown.'),
    how: z.enum(['password', 'proxy']),
  })
  .meta({ id: 'Session' });

type ShownSession = z.output<typeof shownSession>;

/** The operations of the log-in page. */
export const sessionOperations: readonly Operation[] = [
  operation({
    id: 'logIn',
    method: 'POST',
    path: '/session',
    summary:
      'Log in with the password, or with the token of a log-in link, which works once. The answer sets a cookie for 12 hours. Programs send the password with each request instead.',
    open: true,
    role: 'viewer',
    restricted: 'filtered',
    body: z.union([
      z.strictObject({ password: z.string() }),
      z.strictObject({ token: z.string() }),
    ]),
    answer: shownSession,
    act: async ({ rightsOf }, { body, session }) => {
      const denial = session.logIn(body);
      if (denial !== undefined) {
        const code = denial.status === 429 ? 'over-limit' : 'not-logged-in';
        throw new OperationRefused(code, denial.error);
      }
      return showSession(OWNER, rightsOf(OWNER));
    },
  }),
  operation({
    id: 'getSession',
    method: 'GET',
    path: '/session',
    summary: 'Show who is logged in, and what they may do.',
    role: 'viewer',
    restricted: 'filtered',
    forNobody: (query) => query['nobody'] === 'true',
    query: z.strictObject({
      nobody: yesNo('Whether to answer null instead of 401 if the caller is not logged in.'),
    }),
    answer: shownSession.nullable(),
    act: async (_, { caller, rights }) =>
      caller.how === 'nobody' ? null : showSession(caller, rights),
  }),
  operation({
    id: 'logOut',
    method: 'DELETE',
    path: '/session',
    summary: 'Log out: the browser forgets its cookie.',
    open: true,
    role: 'viewer',
    restricted: 'filtered',
    answer: z.strictObject({}),
    act: async (_, { session }) => {
      session.logOut();
      return {};
    },
  }),
  operation({
    id: 'makeLogInLink',
    method: 'POST',
    path: '/session/link',
    summary:
      'Make a link that logs in to the dashboard of this server once, within ten minutes: `/dashboard#token=TOKEN`. An earlier link ends. Takes the password, because who uses the link has all of its rights; users of a proxy get 403.',
    role: 'admin',
    answer: z.strictObject({ token: z.string() }),
    act: async (_, { caller, session }) => {
      // The session of the link has no name and no restrictions, and outlives a role.
      if (caller.how !== 'password') {
        throw new OperationRefused(
          'forbidden',
          'A log-in link has all rights: it takes the password',
        );
      }
      return { token: session.makeLink() };
    },
  }),
];

const OWNER: Caller = { how: 'password', user: null, groups: [] };

function showSession(caller: Caller, rights: Rights | undefined): ShownSession {
  if (rights === undefined) throw noRole(caller);
  const { how, user } = caller;
  const { role, apps, instances, seesPayloads } = rights;
  return {
    user,
    role,
    apps: apps === '*' ? apps : [...apps],
    instances: instances === '*' ? instances : [...instances],
    payloads: seesPayloads,
    how: how === 'proxy' ? 'proxy' : 'password',
  };
}
