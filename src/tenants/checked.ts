import type { z } from 'zod';
import { problemsOf, wording } from '../config/problems.ts';
import { Refusal } from './refusal.ts';

/** Parses a request. Throws a `Refusal` that names the first invalid field. */
export function checked<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  unknownField: string,
): z.output<Schema> {
  const parsed = schema.safeParse(input, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? unknownField : wording(issue)),
  });
  if (parsed.success) return parsed.data;
  const [problem] = problemsOf(schema, parsed.error);
  const field = problem?.path ?? '';
  const rule = problem?.message ?? 'is not valid';
  if (field !== '') throw new Refusal('invalid', `${field}: ${rule}`, field);
  throw new Refusal('invalid', `the body: ${rule}`);
}
