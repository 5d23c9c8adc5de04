import { z } from 'zod';
import type { DeepReadonly } from '../config/schema.ts';
import { checked } from '../tenants/checked.ts';
import type { RefusalCode } from '../tenants/operation-refused.ts';
import type { Admin } from './admin.ts';

/** The prefix of every operation's path. */
export const API_PATH = '/api/v1';

/** A request to an operation. Only its path has been checked. */
export interface Call {
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  /** Parsed JSON; `undefined` if there was no body. */
  readonly body: unknown;
}

/** What one operation takes and returns. `docs/openapi.json` is printed from it. */
interface Terms<Query extends z.ZodObject, Body extends z.ZodType, Answer extends z.ZodType> {
  /** The name of the operation for code generators. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** After `API_PATH`; `{name}` stands for one segment. */
  readonly path: string;
  readonly summary: string;
  readonly query: Query;
  readonly body: Body;
  readonly status: 200 | 201 | 202;
  readonly answer: Answer;
  /** The refusals besides those of every operation. */
  readonly refusals: readonly RefusalCode[];
  /** The log line of a change. Operations that only read have none. */
  readonly logLine?: ChangeLine;
}

/** The log line of a change. `subject` is the field that names what was changed. */
export interface ChangeLine {
  readonly message: string;
  readonly subject: 'app' | 'instance' | 'webhook';
}

/** One operation of the admin API. */
export interface Operation extends Terms<z.ZodObject, z.ZodType, z.ZodType> {
  run(admin: Admin, call: Call): Promise<{ readonly status: number; readonly body: unknown }>;
}

/** The body of operations that take none: nothing, or an empty object. */
export const NO_BODY = z.strictObject({}).optional();

export const NO_QUERY = z.strictObject({});

/** Defines an operation. `act` gets only checked values. */
export function operation<
  Query extends z.ZodObject,
  Body extends z.ZodType,
  Answer extends z.ZodType,
>(
  terms: Terms<Query, Body, Answer> & {
    readonly act: (
      admin: Admin,
      given: {
        readonly path: (name: string) => string;
        readonly query: z.output<Query>;
        readonly body: z.output<Body>;
      },
    ) => Promise<DeepReadonly<z.output<Answer>>>;
  },
): Operation {
  const { act, ...rest } = terms;
  return {
    ...rest,
    async run(admin, call) {
      const query = checked(terms.query, { input: call.query, unknownField: 'unknown parameter' });
      const given = { path: (name: string) => call.path[name] ?? '', query };
      const body = checked(terms.body, { input: call.body, unknownField: 'unknown setting' });
      return { status: terms.status, body: await act(admin, { ...given, body }) };
    },
  };
}
