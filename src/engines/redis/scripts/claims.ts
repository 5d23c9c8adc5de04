import { script } from './script.ts';

/** Deletes a claim that a loop still has. Key: the claim. Argument: the loop. */
export const RELEASE = script(`
if call('GET', P) == ARGV[1] then call('DEL', P) end
return {'ok'}
`);
