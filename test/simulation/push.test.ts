import { worldTests } from './world-tests.ts';

worldTests('push', {
  long: 25_000,
  sabotages: { neither: 'live', 'double-push': 'pushes', 'lose-push': 'pushes' },
});
