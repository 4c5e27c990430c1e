import java.lang.annotation.*;
import java.nio.charset.StandardCharsets;
import javax.persistence.*;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.*;
import org.springframework.transaction.annotation.Transactional;
import shop.Order;
