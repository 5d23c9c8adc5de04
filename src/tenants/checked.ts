import type { z } from 'zod';
import { problemsOf, wording } from '../config/problems.ts';
import { OperationRefused } from './operation-refused.ts';

/** Parses a request. Throws a `OperationRefused` that names the first invalid field. */
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
  if (field !== '') throw new OperationRefused('invalid', `${field}: ${rule}`, field);
  throw new OperationRefused('invalid', `the body: ${rule}`);
}
