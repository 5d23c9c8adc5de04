import type { z } from 'zod';
import { problemsOf, wording } from '../config/problems.ts';
import { OperationRefused } from './operation-refused.ts';

/** Reads what somebody asks for. Throws a `OperationRefused` that names the first thing that is wrong. */
export function checked<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  unknownWords: string,
): z.output<Schema> {
  const parsed = schema.safeParse(input, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? unknownWords : wording(issue)),
  });
  if (parsed.success) return parsed.data;
  const [problem] = problemsOf(schema, parsed.error);
  const field = problem?.path ?? '';
  const rule = problem?.message ?? 'is not valid';
  if (field !== '') throw new OperationRefused('invalid', `${field}: ${rule}`, field);
  throw new OperationRefused('invalid', `the body: ${rule}`);
}
