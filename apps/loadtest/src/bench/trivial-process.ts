import { createTrivialServer } from './trivial-server.ts';

const server = createTrivialServer();
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address) process.send?.(address.port);
});
process.on('disconnect', () => process.exit());
