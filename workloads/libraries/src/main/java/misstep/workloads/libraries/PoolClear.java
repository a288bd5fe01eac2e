package misstep.workloads.libraries;

import org.apache.commons.pool.BasePoolableObjectFactory;
import org.apache.commons.pool.impl.GenericObjectPool;

/**
 * POOL-125 and DBCP-44, commons-pool 1.2, fixed in 1.5: clear (and the evictor) call the factory
 * while they hold the pool's lock. A factory with a lock of its own that asks the pool how full it
 * is, as a pool of connections does, takes both locks in the opposite order.
 */
final class PoolClear implements Bug {
  @Override
  public String round() throws Exception {
    Factory factory = new Factory();
    GenericObjectPool pool = new GenericObjectPool(factory, 4);
    factory.pool = pool;
    pool.addObject();
    return Pair.run(pool::clear, factory::report);
  }

  private static final class Factory extends BasePoolableObjectFactory {
    private GenericObjectPool pool;
    private int destroyed;

    @Override
    public Object makeObject() {
      return new Object();
    }

    @Override
    public synchronized void destroyObject(Object object) {
      destroyed++;
    }

    synchronized String report() {
      return pool.getNumIdle() + " idle, " + destroyed + " destroyed";
    }
  }
}
