import { textOf } from './body-text.ts';
import type { Answer } from './call.ts';
import { type ApiRefusal, invalid } from './problems.ts';
import type { Parameter } from './query.ts';

/** Refuses parameters where none are needed or allowed. Source: Channels protocol, §14.2. */
export function refuseExtraneous(parameters: readonly Parameter[]): ApiRefusal | undefined {
  const extraneous = parameters.filter(
    ({ name }) => !name.startsWith('auth_') && name !== 'body_md5',
  );
  if (extraneous.length === 0) return undefined;
  const names = extraneous.map(({ name }) => name).join(', ');
  return invalid(`The following query string parameters are extraneous: ${names}`);
}

/** Refuses an unexpected body, except for the empty object that libraries send. */
export function refuseBody(body: Uint8Array): Answer | undefined {
  const text = textOf(body);
  if (typeof text !== 'string') return text;
  const trimmed = text.trim();
  return trimmed === '' || /^\{\s*\}$/.test(trimmed)
    ? undefined
    : invalid(
        'The body must be empty, or an empty JSON object: no parameters are needed or allowed',
      );
}
