import { worldTests } from './world-tests.ts';

worldTests('push', {
  usual: 12,
  long: 25_000,
  sabotages: { neither: 'live', 'double-push': 'pushes', 'lose-push': 'pushes' },
});
