import { script } from './script.ts';

/** Deletes a claim that a loop still has. Key: what all claims begin with. Arguments: the loop, the claim. */
export const RELEASE = script(`
if call('GET', P .. ARGV[2]) == ARGV[1] then call('DEL', P .. ARGV[2]) end
return {'ok'}
`);
