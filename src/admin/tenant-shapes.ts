import { z } from 'zod';
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

/** The terms that operations on one tenant share. */
export function onTenant<Answer extends z.ZodType>(answer: Answer) {
  return { answer, refusals: ['not-found', 'conflict'] } as const;
}
