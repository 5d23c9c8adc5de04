import { z } from 'zod';
import { type RefusalCode, statusOf } from '../../tenants/operation-refused.ts';
import { API_PATH, EVENT_STREAM, type Operation } from '../operation.ts';
import { NamedSchemas } from './named-schemas.ts';

/** The plain text pages of the admin listener. */
const textPages = [
  { path: '/healthz', id: 'getHealth', summary: 'Whether the process is alive.', open: true },
  {
    path: '/readyz',
    id: 'getReadiness',
    summary: 'Whether the server can do its work.',
    open: true,
  },
  { path: '/metrics', id: 'getMetrics', summary: 'Metrics for Prometheus.', open: false },
] as const;

/** The body of a refusal. */
const errorShape = z
  .strictObject({ error: z.string(), field: z.string().optional() })
  .meta({ id: 'Error' });

/** The refusals, by the names that they have in the description. */
const refusalWords = {
  Invalid: 'A parameter or the body is invalid; `field` names it.',
  NotLoggedIn: 'The password is missing or wrong.',
  Forbidden: 'The role of the caller does not allow it, or a page of another site asks.',
  NotFound: 'There is nothing with this id.',
  Conflict: 'The request conflicts with the current state.',
  TooLarge: 'The body is too large, or the data of an event is larger than the app allows.',
  NotJson: 'The Content-Type is not application/json.',
  OverLimit:
    'Too many wrong passwords or too many requests came from this address, or the app or instance is over its rate or its quota.',
  Unavailable: 'The store cannot be used now, or the realtime loop does not answer.',
} as const;

const refusalNames: Readonly<Record<RefusalCode, keyof typeof refusalWords>> = {
  'not-logged-in': 'NotLoggedIn',
  forbidden: 'Forbidden',
  invalid: 'Invalid',
  'not-found': 'NotFound',
  conflict: 'Conflict',
  'too-large': 'TooLarge',
  'over-limit': 'OverLimit',
  unavailable: 'Unavailable',
};

/** The refusals of everything that takes a password. */
const denials = refused(['not-logged-in', 'forbidden', 'over-limit']);

/** Describes the operations as an OpenAPI document. Source: OpenAPI 3.1. */
export function openApi(operations: readonly Operation[]) {
  const schemas = new NamedSchemas();
  const error = json(schemas.ofAnswer(errorShape));
  const answers = new Map(operations.map((one) => [one, answerOf(one, schemas)]));
  const paths: Record<string, Record<string, unknown>> = {};
  for (const { path, id, summary, open } of textPages) {
    paths[path] = { get: describeTextPage({ id, summary, open }) };
  }
  for (const [operation, answer] of answers) {
    const path = `${API_PATH}${operation.path}`;
    const method = operation.method.toLowerCase();
    paths[path] = { ...paths[path], [method]: describe(operation, { answer, schemas }) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Fanfare admin API',
      version: '1',
      description:
        'Served by the admin listener. Every request needs the password: `admin.password`, or the one that the server has made, which `fanfare admin password` shows. Browsers log in and have a session instead, and a proxy may check users itself. `x-role` is the least role that may call an operation: viewer, support, operator, admin. Requests that change something need `Content-Type: application/json`, even without a body.',
    },
    security: [{ bearer: [] }, { basic: [] }, { session: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        basic: { type: 'http', scheme: 'basic' },
        session: { type: 'apiKey', in: 'cookie', name: 'fanfare' },
      },
      responses: Object.fromEntries(
        Object.entries(refusalWords).map(([name, description]) => [
          name,
          { description, content: error },
        ]),
      ),
      schemas: schemas.all(),
    },
  };
}

function answerOf({ status, answer, events }: Operation, schemas: NamedSchemas) {
  if (events === undefined) {
    return { [status]: { description: 'Done.', content: json(schemas.ofAnswer(answer)) } };
  }
  const shapes = Object.entries(events).map(([name, shape]) => [name, schemas.ofAnswer(shape)]);
  const schema = { type: 'string', 'x-events': Object.fromEntries(shapes) };
  return { [status]: { description: 'Done.', content: { [EVENT_STREAM]: { schema } } } };
}

function describe(
  { id, method, path, summary, role, query, body, open, refusals }: Operation,
  { answer, schemas }: { readonly answer: object; readonly schemas: NamedSchemas },
) {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const inQuery = Object.entries(query.shape).map(([name, kind]) => {
    const { description, ...schema } = schemas.ofAnswer(kind as z.ZodType) as {
      description?: string;
    };
    return { name, in: 'query', description, schema };
  });
  const parameters = [...inPath, ...inQuery];
  const isEmpty = body.safeParse(undefined).success;
  return {
    operationId: id,
    summary,
    'x-role': role,
    ...(open ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(isEmpty ? {} : { requestBody: { required: true, content: json(schemas.ofBody(body)) } }),
    responses: {
      ...answer,
      ...denials,
      ...(method === 'GET' ? {} : { ...refused(['too-large']), 415: response('NotJson') }),
      ...refused(['invalid', ...refusals, 'unavailable']),
    },
  };
}

function describeTextPage({ id, summary, open }: Omit<(typeof textPages)[number], 'path'>) {
  const content = { 'text/plain': { schema: { type: 'string' } } };
  return {
    operationId: id,
    summary,
    ...(open ? { security: [] } : {}),
    responses: {
      200: { description: 'Yes.', content },
      ...(id === 'getHealth' ? {} : { 503: { description: 'No, and why.', content } }),
      ...(open ? {} : denials),
    },
  };
}

/** The answers to requests that are refused for these reasons, by their statuses. */
function refused(codes: readonly RefusalCode[]) {
  return Object.fromEntries(codes.map((code) => [statusOf(code), response(refusalNames[code])]));
}

function response(name: keyof typeof refusalWords) {
  return { $ref: `#/components/responses/${name}` };
}

function json(schema: object) {
  return { 'application/json': { schema } };
}
