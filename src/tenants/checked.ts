import type { z } from 'zod';
import { problemsOf, wording } from '../config/file/problems.ts';
import { OperationRefused } from './operation-refused.ts';

interface Input {
  readonly input: unknown;
  /** The message for a field that the schema does not have. */
  readonly unknownField: string;
}

/** Parses a request. Throws an `OperationRefused` that names the first invalid field. */
export function checked<Schema extends z.ZodType>(
  schema: Schema,
  { input, unknownField }: Input,
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
