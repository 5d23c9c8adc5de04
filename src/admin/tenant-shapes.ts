import { z } from 'zod';
import { NO_BODY, NO_QUERY } from './operation.ts';
import { yesNo } from './query-kinds.ts';

/** The query of operations that can show secrets. */
export const secretsQuery = z.strictObject({ secrets: yesNo('Whether to show secrets too.') });

/** Where an app or instance is kept. */
export function tenantSource(noun: 'app' | 'instance') {
  return z
    .enum(['configuration', 'store'])
    .describe(`Where the ${noun} is kept. Settings in the configuration are changed there.`);
}

/** The tenants of a list that the server leaves out. */
export function notServedList(noun: 'app' | 'instance') {
  return z
    .array(z.strictObject({ id: z.string(), why: z.string() }))
    .describe(`Stored ${noun}s that cannot be served.`);
}

/** The terms of most operations on one tenant: they take neither query nor body, and answer 200. */
export function onTenant<Answer extends z.ZodType>(answer: Answer) {
  return {
    query: NO_QUERY,
    body: NO_BODY,
    status: 200,
    answer,
    refusals: ['not-found', 'conflict'],
  } as const;
}
