package misstep.workloads.libraries;

import org.apache.commons.pool2.BasePooledObjectFactory;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import org.apache.commons.pool2.impl.GenericObjectPool;

/**
 * POOL-240, commons-pool2 2.0: invalidating the only object makes room for a new one, but wakes
 * none of the threads that wait for an object. Since 2.2 it looks for threads that wait and makes
 * an object for them; one that found no room and does not wait yet is missed, in 2.13.0 as well.
 */
final class Pool2Invalidate implements Bug {
  private volatile boolean released;

  @Override
  public String round() throws Exception {
    GenericObjectPool<Object> pool = new GenericObjectPool<>(new Factory());
    pool.setMaxTotal(1);
    Object only = pool.borrowObject();
    released = false;
    return Pair.run(
        () -> {
          released = true;
          pool.invalidateObject(only);
        },
        () -> {
          while (!released) {
            Thread.yield();
          }
          pool.returnObject(pool.borrowObject());
        });
  }

  private static final class Factory extends BasePooledObjectFactory<Object> {
    @Override
    public Object create() {
      return new Object();
    }

    @Override
    public PooledObject<Object> wrap(Object object) {
      return new DefaultPooledObject<>(object);
    }
  }
}
