import { type ChatServer, startChatServer } from '@sluice/testing';
import { Redis } from 'ioredis';
import { type Gateway, startGateway } from './gateway.ts';

const budgetKey = 'sluice:{t:tests}:token-budget:tenant';

/** A gateway in front of the test's own chat server, whose tenant has a budget too large to be used up. */
export interface ChatGateway {
  /** Answers the model `chat`; the model `sim` is simulated. */
  server: ChatServer;
  gateway: Gateway;
  redis: Redis;
  budget(): Promise<{ spent: number; reserved: number }>;
  /** Sets what was spent of the budget back to 0. */
  renewBudget(): Promise<void>;
  stop(): Promise<void>;
}

/** `environment` is added to that of every process. */
export async function startChatGateway(environment: Record<string, string> = {}): Promise<ChatGateway> {
  const server = await startChatServer();
  const gateway = await startGateway({
    environment,
    settings: {
      pools: {
        chat: { backend: { engine: 'upstream', baseUrl: server.baseUrl, slots: 8 } },
        sim: { backend: { engine: 'simulated', slots: 8 } },
      },
      models: { chat: { pool: 'chat' }, sim: { pool: 'sim' } },
    },
  });
  const redis = new Redis(gateway.redisUrl);
  await gateway.cli('limits', 'set', '--tenant', 'tests', 'token-budget=100000000');
  return {
    server,
    gateway,
    redis,
    async budget() {
      const [spent, reserved] = await redis.hmget(budgetKey, 'spent', 'reserved');
      return { spent: Number(spent), reserved: Number(reserved) };
    },
    async renewBudget() {
      await redis.del(budgetKey);
    },
    async stop() {
      redis.disconnect();
      await gateway.stop();
      await server.stop();
    },
  };
}
