import { script } from './script.ts';

/**
 * Says that a partition has moved to another process of Redis with all its data, so that nodes which enter later keep its
 * histories. Arguments: the id of the former process, and of the present one.
 */
export const MOVED = script(`
if call('GET', P .. 'HP') == ARGV[1] then call('SET', P .. 'HP', ARGV[2]) end
return {'ok'}
`);
